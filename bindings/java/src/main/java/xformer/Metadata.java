/* What is kept with a model. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** The texts that are kept with a model, in its files and checkpoints: languages, a licence, where it came from. */
public final class Metadata extends NativeMap<String> {
    private final Model model;

    Metadata(Model model) {
        this.model = model;
    }

    @Override
    Collection<String> keys() {
        return Frame.get(f -> {
            long pointer = f.use(model);
            List<String> keys = new ArrayList<>();
            for (long key; (key = Native.xf_model_metadata_key(pointer, keys.size())) != 0;) keys.add(Text.at(key));
            return keys;
        });
    }

    @Override
    public String get(Object key) {
        if (!(key instanceof String name)) return null;
        return Frame.get(f -> Text.at(Native.xf_model_metadata(f.use(model), f.name(name))));
    }

    /** Keeps a text of at most 1 MiB by a key of 1 to 256 bytes of UTF-8; gives what was kept before, or null. */
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
