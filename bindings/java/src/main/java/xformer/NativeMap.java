/* A map over values in C, based on keys(), get(), and put(). SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.AbstractMap;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * A map view of an object of the library.
 *
 * @param <V> type of the values
 */
public abstract sealed class NativeMap<V> extends AbstractMap<String, V> permits Config, Metadata {
    NativeMap() {}

    abstract Collection<String> keys();

    @Override
    public abstract V get(Object key);

    @Override
    public abstract V put(String key, V value);

    @Override
    public boolean containsKey(Object key) {
        return get(key) != null;
    }

    /** {@return a snapshot of the entries; setting an entry changes this map, removing one is not supported} */
    @Override
    public Set<Entry<String, V>> entrySet() {
        Set<Entry<String, V>> all = new LinkedHashSet<>();
        for (String key : keys()) {
            all.add(new SimpleEntry<>(key, get(key)) {
                private static final long serialVersionUID = 1L;

                @Override
                public V setValue(V value) {
                    NativeMap.this.put(getKey(), value);
                    return super.setValue(NativeMap.this.get(getKey()));
                }
            });
        }
        return Collections.unmodifiableSet(all);
    }
}
