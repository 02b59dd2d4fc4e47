import Foundation

/// Mixes colours.
public final class Mixer<T: Equatable>: NSObject {
    public static let shared = Mixer<Int>()
    private var parts: [T] = [], limit = 3
    lazy var total: Int = { parts.count }()

    public init(parts: [T]) {
        super.init()
    }

    deinit {}

    subscript(index: Int) -> T { parts[index] }

    /// Adds a part.
    @discardableResult
    public func add(_ part: T, times: Int = 1) async throws -> Bool {
        func inner() {}
        return true
    }
}

struct Point {
    var x, y: Double
    mutating func move(by d: Double) { x += d }
}

enum Mode: String {
    case light, dark
    case custom(Int)
    indirect case nested(Mode)
}

protocol Drawable: AnyObject {
    associatedtype Canvas
    var size: Int { get }
    func draw(on canvas: Canvas)
}

extension Point: Drawable {
    typealias Canvas = Int
    var size: Int { 2 }
    func draw(on canvas: Int) {}
}

actor Counter {
    var value = 0
}

func free(_ x: Int) -> Int { x }
