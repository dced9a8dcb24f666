/*
 * Options by name. A Config is a Map, so every method has one parameter for options: a Config or any other map.
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
 * A set of option values: a map over all keys of the option table. An option that was not set has its default. Values
 * have the type that {@link OptionType} names; {@link #put} also accepts text, as on a command line. Entries can be
 * changed but not removed. A change does not affect objects that were created with the config.
 */
public final class Config extends NativeMap<Object> implements AutoCloseable {
    final Handle handle;

    /** The option table, read once. */
    private static final class Table {
        static final Map<String, OptionInfo> ROWS;

        static {
            Map<String, OptionInfo> rows = new LinkedHashMap<>();
            for (long i = 0; i < Native.xf_option_count(); ++i) {
                long index = i;
                OptionInfo row = OptionInfo.read((f, out) -> Native.xf_option_get(index, out, f.err()));
                rows.put(row.key(), row);
            }
            ROWS = Collections.unmodifiableMap(rows);
        }
    }

    /** Creates a config in which every option has its default. */
    public Config() {
        handle = Handle.of(this, Handle.Kind.CONFIG, (f, out) -> Native.xf_config_create(out, f.err()));
    }

    /** Creates a config with some values. */
    public Config(Map<String, ?> values) {
        this();
        fill(null, values);
    }

    /** A copy of a config that another object owns. */
    Config(Frame f, long pointer) {
        handle = Handle.of(this, Handle.Kind.CONFIG, (g, out) -> Native.xf_config_copy(pointer, out, g.err()));
    }

    /**
     * Creates a config from a named preset: "base", "big", and "parsing" are models of the paper; "small" and "tiny"
     * are defined by this library.
     */
    public static Config preset(String name) {
        return preset(name, Map.of());
    }

    /** Creates a config from a named preset and some values, which override the preset. */
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

    /** {@return the row of the option table with the given key; an error names the nearest key} */
    public static OptionInfo option(String key) {
        return OptionInfo.read((f, out) -> Native.xf_option_find(f.name(key), out, f.err()));
    }

    /** {@return a copy with the same values} */
    public Config copy() {
        return Frame.get(f -> new Config(f, f.use(handle)));
    }

    /** Sets the model and training options of a preset. Other options are unchanged. */
    public void applyPreset(String name) {
        Frame.run(f -> Native.xf_config_preset(f.use(handle), f.name(name), f.err()));
    }

    /** Sets an option to a Boolean, a String, or a number. After an error the config is unchanged. */
    @Override
    public Object put(String key, Object value) {
        Objects.requireNonNull(value, key);
        Object before = get(key);
        double number = number(key, value);
        Frame.run(f -> value instanceof Number
                ? Native.xf_config_set_number(f.use(handle), f.name(key), number, f.err())
                : Native.xf_config_set(f.use(handle), f.name(key), f.name(value.toString()), f.err()));
        return before;
    }

    private static double number(String key, Object value) {
        if (value instanceof Number number) return number.doubleValue();
        if (value instanceof String || value instanceof Boolean) return 0;
        throw new IllegalArgumentException(
                key + " is a " + value.getClass().getName() + ", expected a Boolean, a String, or a number");
    }

    /** Returns an option as an object of the type that {@link OptionInfo#type} names; null if no such option exists. */
    @Override
    public Object get(Object key) {
        OptionInfo row = key instanceof String ? options().get(key) : null;
        if (row == null) return null;
        return switch (row.type()) {
            case INTEGER -> getLong(row.key());
            case REAL -> getDouble(row.key());
            case BOOL -> getBoolean(row.key());
            case TEXT -> getString(row.key());
        };
    }

    /** Returns an integer option. */
    public long getLong(String key) {
        double value = getDouble(key);
        if (value != Math.rint(value)) {
            throw new IllegalArgumentException(key + " is " + value + ", not an integer; use getDouble()");
        }
        return (long) value;
    }

    /** Returns an integer, real, or boolean option as a number. */
    public double getDouble(String key) {
        return Frame.read(8, (f, out) -> Native.xf_config_get_number(f.use(handle), f.name(key), out, f.err()),
                out -> out.getDouble(0));
    }

    /** Returns a boolean option. */
    public boolean getBoolean(String key) {
        return getDouble(key) != 0;
    }

    /** Returns an option of any type as text. */
    public String getString(String key) {
        return Frame.read(8, (f, out) -> Native.xf_config_get(f.use(handle), f.name(key), out, f.err()),
                out -> out.text(0));
    }

    @Override
    Collection<String> keys() {
        return options().keySet();
    }

    /** Frees the config. Closing it again has no effect. */
    @Override
    public void close() {
        handle.close();
    }

    /** {@return whether it was closed; calls on it then throw an {@link IllegalStateException}} */
    public boolean isClosed() {
        return handle.closed();
    }

    @Override
    public String toString() {
        return isClosed() ? "{closed}" : super.toString();
    }
}
