package shop;

import java.util.List;
import static java.util.Map.entry;

/** An account of somebody. */
@Entity
public final class Account<T extends Comparable<T>> implements Closeable {
    private static final int LIMIT = 10, STEP = 2;
    private final List<T> entries;

    public Account(List<T> entries) {
        this.entries = entries;
    }

    /**
     * Adds an entry.
     */
    @Override
    public synchronized <R> R add(T entry, int... counts) throws IOException {
        Runnable r = () -> {};
        return null;
    }

    enum Kind {
        OPEN, CLOSED { void log() {} };

        void log() {}
    }

    interface Visitor {
        void visit(Account<?> account);
        default int order() { return 0; }
    }

    record Point(int x, int y) {
        Point {
            if (x < 0) throw new IllegalArgumentException();
        }
    }

    @interface Marker {
        String value() default "";
    }
}
