/* parameters.c - names and shapes of a model's tensors, in file order. SPDX-License-Identifier: Apache-2.0 */
#include "must.h"

int main(int argc, char **argv) {
    xf_context *context = NULL;
    xf_model *model = NULL;
    xf_source source = XF_SOURCE_PATH(argc > 1 ? argv[1] : "numerals.xf");
    xf_tensor_info info = XF_TENSOR_INFO_INIT;
    must(xf_context_create(NULL, NULL, &context, &err));
    must(xf_model_load(context, &source, NULL, NULL, &model, &err));
    for (size_t i = 0; i < xf_model_tensor_count(model); ++i) {
        must(xf_model_get_tensor(model, i, &info, &err));
        printf("%s [", info.name);
        for (int32_t k = 0; k < info.dims; ++k) printf("%s%d", k > 0 ? ", " : "", (int)info.shape[k]);
        printf("]\n");
    }
    xf_model_free(model);
    xf_context_free(context);
    return 0;
}
