/* api.tsv names public methods. SPDX-License-Identifier: Apache-2.0 */
package xformer;

import static org.junit.Assert.assertTrue;

import java.lang.reflect.Member;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.Test;

public class ApiTest {
    @Test
    public void everyNameIsPublic() throws Exception {
        int names = 0;
        for (String line : Files.readAllLines(Path.of(System.getProperty("xformer.test.api")))) {
            String[] columns = line.split("\t");
            assertTrue(line, columns.length == 2 && columns[0].startsWith("xf_"));
            if (columns[1].startsWith("- (")) continue;
            for (String name : columns[1].split(", ")) {
                String type = name.replaceAll("^new |\\..*", "");
                String method = name.startsWith("new ") ? "xformer." + type : name.replaceAll(".*\\.", "");
                Class<?> found = Class.forName("xformer." + type);
                Stream<Member> all = Stream.concat(Arrays.stream(found.getMethods()),
                        Arrays.stream(found.getDeclaredConstructors()));
                assertTrue(line, Modifier.isPublic(found.getModifiers()) && all.anyMatch(
                        member -> member.getName().equals(method) && Modifier.isPublic(member.getModifiers())));
                ++names;
            }
        }
        assertTrue(names > 80);
    }
}
