/*
 * Options by name. A Config is a Map, so that all constructors take one parameter for options: a Config with presets
 * and defaults, or any other map.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A set of option values: a map over all keys of the option table, in which what was not set has its default. A value
 * is what the option's {@link OptionType} says; {@link #put} also takes text in the form of a command line. Entries can
 * be changed but not removed. An object that was made from a config is not affected by changes.
 */
public final class Config extends NativeMap<Object> implements AutoCloseable {
    final Handle handle;

    /** The option table, read once. */
    private static final class Table {
        static final Map<String, OptionInfo> ROWS;

        static {
            Map<String, OptionInfo> rows = new LinkedHashMap<>();
            for (long i = 0; i < Native.xf_option_count(); ++i) {
                OptionInfo row = OptionInfo.read(i);
                rows.put(row.key(), row);
            }
            ROWS = Collections.unmodifiableMap(rows);
        }
    }

    /** Makes a config of defaults. */
    public Config() {
        handle = Handle.of(this, Handle.Kind.CONFIG, (f, out) -> Native.xf_config_create(out, f.err()));
    }

    /** Makes a config with some values. */
    public Config(Map<String, ?> values) {
        this();
        fill(null, values);
    }

    /** A copy of a config of the library, which the frame keeps alive. */
    Config(Frame f, long pointer) {
        handle = Handle.of(this, Handle.Kind.CONFIG, (g, out) -> Native.xf_config_copy(pointer, out, g.err()));
    }

    /**
     * Makes a config from a named preset: "base" and "big" are the paper's, "small" and "tiny" the library's; {@code
     * xformer/config.h} has all the names.
     */
    public static Config preset(String name) {
        return preset(name, Map.of());
    }

    /** Makes a config from a named preset and some values, which count more. */
    public static Config preset(String name, Map<String, ?> values) {
        Config config = new Config();
        config.fill(Objects.requireNonNull(name, "name"), values);
        return config;
    }

    private void fill(String preset, Map<String, ?> values) {
        try {
            if (preset != null) applyPreset(preset);
            putAll(values);
        } catch (RuntimeException error) {
            close();
            throw error;
        }
    }

    /** {@return the options of the loaded library by key, unmodifiable} */
    public static Map<String, OptionInfo> options() {
        return Table.ROWS;
    }

    /** {@return a config of its own with the same values} */
    public Config copy() {
        return Frame.get(f -> new Config(f, f.use(handle)));
    }

    /** Sets the model and training options of a preset; other options stay. */
    public void applyPreset(String name) {
        Frame.run(f -> Native.xf_config_preset(f.use(handle), f.name(name), f.err()));
    }

    /** Sets an option to a Boolean, a String or one of Java's numbers; on an error the config is unchanged. */
    @Override
    public Object put(String key, Object value) {
        Objects.requireNonNull(value, key);
        Object before = get(key);
        boolean real = value instanceof Double || value instanceof Float
                || whole(key, value) && before instanceof Double;
        Frame.run(f -> {
            long config = f.use(handle);
            long name = f.name(key);
            if (!(value instanceof Number number)) {
                return Native.xf_config_set(config, name, f.name(value.toString()), f.err());
            }
            return real
                    ? Native.xf_config_set_f64(config, name, number.doubleValue(), f.err())
                    : Native.xf_config_set_i64(config, name, number.longValue(), f.err());
        });
        return before;
    }

    private static boolean whole(String key, Object value) {
        if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return true;
        }
        if (value instanceof String || value instanceof Boolean) return false;
        throw new IllegalArgumentException(
                key + " is a " + value.getClass().getName() + ", expected a Boolean, a String or a number");
    }

    /** Reads an option, of the type that its {@link OptionInfo} says; null when there is no such option. */
    @Override
    public Object get(Object key) {
        OptionInfo row = key instanceof String ? options().get(key) : null;
        if (row == null) return null;
        return switch (row.type()) {
            case LONG -> getLong(row.key());
            case DOUBLE -> getDouble(row.key());
            case BOOLEAN -> getBoolean(row.key());
            case STRING -> getString(row.key());
        };
    }

    /** Reads an integer option. */
    public long getLong(String key) {
        return Frame.read(1, (f, out) -> Native.xf_config_get_i64(f.use(handle), f.name(key), out, f.err()),
                out -> out.get(0));
    }

    /** Reads a floating-point option. */
    public double getDouble(String key) {
        return Frame.read(1, (f, out) -> Native.xf_config_get_f64(f.use(handle), f.name(key), out, f.err()),
                out -> out.real(0));
    }

    /** Reads a boolean option. */
    public boolean getBoolean(String key) {
        return getLong(key) != 0;
    }

    /** Reads an option of any type in the form of a command line. */
    public String getString(String key) {
        return Frame.read(1, (f, out) -> Native.xf_config_get(f.use(handle), f.name(key), out, f.err()),
                out -> out.text(0));
    }

    @Override
    Collection<String> keys() {
        return options().keySet();
    }

    /** Frees the values; again is allowed and does nothing. */
    @Override
    public void close() {
        handle.close();
    }

    /** {@return whether it was closed: calls on it are then a {@link IllegalStateException}} */
    public boolean isClosed() {
        return handle.closed();
    }

    @Override
    public String toString() {
        return isClosed() ? "{closed}" : super.toString();
    }
}
