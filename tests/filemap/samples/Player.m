#import <Foundation/Foundation.h>

static const int kVolume = 7;

@protocol PlayerDelegate <NSObject>
- (void)playerDidStop:(id)player;
@end

@interface Player : NSObject <NSCopying>
@property (nonatomic, copy) NSString *title;
@property (readonly) BOOL playing;
- (instancetype)initWithTitle:(NSString *)title volume:(int)volume;
+ (Player *)shared;
@end

@implementation Player

// Makes one.
- (instancetype)initWithTitle:(NSString *)title volume:(int)volume {
    return self;
}

+ (Player *)shared {
    return nil;
}

@end

int main(int argc, char *argv[]) {
    return 0;
}
