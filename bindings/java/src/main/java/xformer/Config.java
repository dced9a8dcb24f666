/*
 * Options by name. A Config is a Map, so that all constructors take one parameter for options: a Config with presets
 * and defaults, or any other map.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
package xformer;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * A set of option values: a map over all keys of the option table, in which what was not set has its default. A value
 * is what the option's {@link OptionType} says; {@link #put} also takes text in the form of a command line. Entries can
 * be changed but not removed. An object that was made from a config is not affected by changes.
 */
public final class Config extends AbstractMap<String, Object> implements AutoCloseable {
    private final Peer peer = new Peer(this, Kind.CONFIG, null);

    /** The option table, read once. */
    private static final class Table {
        static final Map<String, OptionInfo> ROWS;

        static {
            Map<String, OptionInfo> rows = new LinkedHashMap<>();
            for (int i = 0; i < Native.optionCount(); ++i) {
                OptionInfo row = OptionInfo.read(i);
                rows.put(row.key(), row);
            }
            ROWS = Collections.unmodifiableMap(rows);
        }
    }

    /** Makes a config of defaults. */
    public Config() {
        peer.open(Native.configCreate());
    }

    /**
     * Makes a config with some values.
     *
     * @param values values by key; other options have their defaults
     */
    public Config(Map<String, ?> values) {
        this();
        filled(values);
    }

    private Config(long pointer) {
        peer.open(pointer);
    }

    /**
     * Makes a config from a named preset: "base" and "big" are the paper's, "small" and "tiny" the library's, "A-h1" to
     * "E-learned" the rows of Table 3, "parsing" the model of s. 6.3; {@code xformer/config.h} has all the names.
     *
     * @param name such as "base"
     * @return the new config
     */
    public static Config preset(String name) {
        return preset(name, Map.of());
    }

    /**
     * Makes a config from a named preset and some values, which count more.
     *
     * @param name as in {@link #preset(String)}
     * @param values values by key
     * @return the new config
     */
    public static Config preset(String name, Map<String, ?> values) {
        Config config = new Config();
        try {
            config.applyPreset(name);
        } catch (RuntimeException error) {
            config.close();
            throw error;
        }
        config.filled(values);
        return config;
    }

    private void filled(Map<String, ?> values) {
        try {
            putAll(values);
        } catch (RuntimeException error) {
            close();
            throw error;
        }
    }

    static Config adopted(long pointer) {
        return new Config(pointer);
    }

    /**
     * Tells the options of the loaded library.
     *
     * @return the option table by key, unmodifiable
     */
    public static Map<String, OptionInfo> options() {
        return Table.ROWS;
    }

    /**
     * Copies this config.
     *
     * @return a config of its own with the same values
     */
    public Config copy() {
        try (Call config = peer.read()) {
            return new Config(Native.configCopy(config.pointer()));
        }
    }

    /**
     * Sets the model and training options of a preset; other options stay.
     *
     * @param name as in {@link #preset(String)}
     */
    public void applyPreset(String name) {
        try (Call config = peer.write()) {
            Native.configPreset(config.pointer(), Text.terminated(name));
        }
    }

    /**
     * Sets an option. On an error the config is unchanged.
     *
     * @param key an option's key
     * @param value a {@link Boolean}, a {@link String}, or one of Java's numbers
     * @return the value it had
     */
    @Override
    public Object put(String key, Object value) {
        byte[] name = Text.terminated(key);
        OptionInfo row = options().get(key);
        Objects.requireNonNull(value, key);
        try (Call call = peer.write()) {
            long config = call.pointer();
            Object before = row == null ? null : value(config, row);
            if (value instanceof String text) {
                Native.configSet(config, name, Text.terminated(text));
            } else if (value instanceof Boolean flag) {
                Native.configSetBoolean(config, name, flag);
            } else if (value instanceof Double || value instanceof Float
                    || whole(key, value) && row != null && row.type() == OptionType.DOUBLE) {
                Native.configSetDouble(config, name, ((Number) value).doubleValue());
            } else {
                Native.configSetLong(config, name, ((Number) value).longValue());
            }
            return before;
        }
    }

    private static boolean whole(String key, Object value) {
        if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return true;
        }
        throw new IllegalArgumentException(
                key + " is a " + value.getClass().getName() + ", expected a Boolean, a String or a number");
    }

    /**
     * Reads an option.
     *
     * @param key an option's key
     * @return its value, of the type that its {@link OptionInfo} says; null when there is no such option
     */
    @Override
    public Object get(Object key) {
        OptionInfo row = key instanceof String ? options().get(key) : null;
        try (Call config = peer.read()) {
            return row == null ? null : value(config.pointer(), row);
        }
    }

    private static Object value(long config, OptionInfo row) {
        byte[] name = Text.terminated(row.key());
        return switch (row.type()) {
            case LONG -> Native.configGetLong(config, name);
            case DOUBLE -> Native.configGetDouble(config, name);
            case BOOLEAN -> Native.configGetBoolean(config, name);
            case STRING -> Text.string(Native.configGetString(config, name));
        };
    }

    /**
     * Reads an integer option.
     *
     * @param key an option's key
     * @return its value
     */
    public long getLong(String key) {
        try (Call config = peer.read()) {
            return Native.configGetLong(config.pointer(), Text.terminated(key));
        }
    }

    /**
     * Reads a floating-point option.
     *
     * @param key an option's key
     * @return its value
     */
    public double getDouble(String key) {
        try (Call config = peer.read()) {
            return Native.configGetDouble(config.pointer(), Text.terminated(key));
        }
    }

    /**
     * Reads a boolean option.
     *
     * @param key an option's key
     * @return its value
     */
    public boolean getBoolean(String key) {
        try (Call config = peer.read()) {
            return Native.configGetBoolean(config.pointer(), Text.terminated(key));
        }
    }

    /**
     * Reads an option of any type in the form of a command line.
     *
     * @param key an option's key
     * @return its value as text
     */
    public String getString(String key) {
        try (Call config = peer.read()) {
            return Text.string(Native.configGetString(config.pointer(), Text.terminated(key)));
        }
    }

    @Override
    public boolean containsKey(Object key) {
        return options().containsKey(key);
    }

    /**
     * Gives all options with their values, in the order of the table.
     *
     * @return a view; its entries read and set this config
     */
    @Override
    public Set<Entry<String, Object>> entrySet() {
        return new AbstractSet<>() {
            @Override
            public Iterator<Entry<String, Object>> iterator() {
                Iterator<String> keys = options().keySet().iterator();
                return new Iterator<>() {
                    @Override
                    public boolean hasNext() {
                        return keys.hasNext();
                    }

                    @Override
                    public Entry<String, Object> next() {
                        String key = keys.next();
                        return new SimpleEntry<>(key, get(key)) {
                            private static final long serialVersionUID = 1L;

                            @Override
                            public Object setValue(Object value) {
                                Config.this.put(getKey(), value);
                                return super.setValue(Config.this.get(getKey()));
                            }
                        };
                    }
                };
            }

            @Override
            public int size() {
                return options().size();
            }
        };
    }

    /** Frees the values; again is allowed and does nothing. */
    @Override
    public void close() {
        peer.close();
    }

    /**
     * Tells whether it was closed.
     *
     * @return true when calls on it are a {@link ClosedException}
     */
    public boolean isClosed() {
        return peer.closed();
    }

    @Override
    public String toString() {
        return isClosed() ? "{closed}" : super.toString();
    }

    /** The native config of any options, for one call: a Config's own, or one that ends with the call. */
    static Use of(Map<String, ?> options) {
        return options instanceof Config config ? new Use(config, false) : new Use(new Config(options), true);
    }

    /** The span of that call. */
    static final class Use implements AutoCloseable {
        private final Config config;
        private final boolean own;
        private final Call call;

        private Use(Config config, boolean own) {
            this.config = config;
            this.own = own;
            call = config.peer.read();
        }

        long pointer() {
            return call.pointer();
        }

        @Override
        public void close() {
            call.close();
            if (own) config.close();
        }
    }
}
