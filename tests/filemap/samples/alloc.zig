const std = @import("std");

pub const limit: usize = 16;
var count: u32 = 0;

/// A list of things.
pub const List = struct {
    items: []u8,
    len: usize = 0,

    pub fn init(allocator: std.mem.Allocator) !List {
        _ = allocator;
        return List{ .items = &.{} };
    }

    fn grow(self: *List) void {
        self.len += 1;
    }
};

const Color = enum { red, green };

const Value = union(enum) {
    int: i64,
    text: []const u8,
};

export fn add(a: i32, b: i32) i32 {
    return a + b;
}

test "adds" {
    try std.testing.expect(add(1, 2) == 3);
}
