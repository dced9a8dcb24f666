/* The texts that are stored with a model. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * The texts that are stored with a model and saved in its files, for example its origin, languages, or license. A view
 * of the model: reading returns copies, writing changes the model.
 */
public final class Metadata extends NativeMap<String> {
    private static final int ESTIMATE = 257;

    private final Model model;

    Metadata(Model model) {
        this.model = model;
    }

    @Override
    Collection<String> keys() {
        List<String> keys = new ArrayList<>();
        for (String key; (key = key(keys.size())) != null;) keys.add(key);
        return keys;
    }

    private String key(long index) {
        return Frame.fill(ESTIMATE, 1, (f, key, capacity, length) -> Native.xf_model_get_metadata_key(
                f.use(model), index, key, capacity, length, f.err()), text -> Text.string(text.bytes()));
    }

    @Override
    public String get(Object key) {
        if (!(key instanceof String name)) return null;
        try {
            return Frame.fill(ESTIMATE, 1, (f, value, capacity, length) -> Native.xf_model_get_metadata(
                    f.use(model), f.name(name), value, capacity, length, f.err()), text -> Text.string(text.bytes()));
        } catch (XformerException error) {
            if (error.status() == Status.NOT_FOUND) return null;
            throw error;
        }
    }

    /** Stores a text of at most 1 MiB under a key of 1 to 256 bytes. Returns the previous text, or null. */
    @Override
    public String put(String key, String value) {
        String before = get(key);
        Frame.run(f -> Native.xf_model_set_metadata(f.use(model), f.name(key), f.name(value), f.err()));
        return before;
    }

    @Override
    public String remove(Object key) {
        String before = get(key);
        if (before != null) {
            Frame.run(f -> Native.xf_model_set_metadata(f.use(model), f.name((String) key), 0, f.err()));
        }
        return before;
    }

    @Override
    public void clear() {
        keys().forEach(this::remove);
    }
}
