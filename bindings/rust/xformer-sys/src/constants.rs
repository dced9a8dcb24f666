// Numbers and words of the headers, for the macro constants! of lib.rs and that of tests/abi.rs, which compares them.
//
// SPDX-License-Identifier: Apache-2.0

constants! {
    "status.h" xf_status: c_int {
        XF_OK = 0,
        XF_DONE = 1,
        XF_ERROR_INVALID_ARGUMENT = -1,
        XF_ERROR_NO_MEMORY = -2,
        XF_ERROR_NOT_FOUND = -3,
        XF_ERROR_OUT_OF_RANGE = -4,
        XF_ERROR_BUFFER_TOO_SMALL = -5,
        XF_ERROR_STATE = -6,
        XF_ERROR_BUSY = -7,
        XF_ERROR_IO = -20,
        XF_ERROR_CORRUPT = -21,
        XF_ERROR_LIMIT = -22,
        XF_ERROR_VERSION = -23,
        XF_ERROR_DATA = -24,
        XF_ERROR_UNSUPPORTED = -40,
        XF_ERROR_BACKEND = -41,
        XF_ERROR_NONFINITE = -42,
        XF_ERROR_FORKED = -43,
        XF_ERROR_CANCELLED = -60,
        XF_ERROR_CALLBACK = -61,
        XF_ERROR_DEADLINE = -62,
        XF_ERROR_INTERNAL = -99,
    }
    "status.h" usize { XF_ERROR_MESSAGE_SIZE = 248 }
    "version.h" i32 {
        XF_VERSION_MAJOR = 0,
        XF_VERSION_MINOR = 1,
        XF_VERSION_PATCH = 0,
        XF_VERSION_NUM = XF_VERSION_MAJOR << 16 | XF_VERSION_MINOR << 8 | XF_VERSION_PATCH,
    }
    "config.h" xf_option_type: c_uint {
        XF_OPTION_I64 = 1,
        XF_OPTION_F64 = 2,
        XF_OPTION_BOOL = 3,
        XF_OPTION_STR = 4,
    }
    "context.h" xf_log_level: c_uint {
        XF_LOG_ERROR = 0,
        XF_LOG_WARNING = 1,
        XF_LOG_INFO = 2,
        XF_LOG_DEBUG = 3,
    }
    "backend.h" xf_backend_state: c_uint {
        XF_BACKEND_ABSENT = 0,
        XF_BACKEND_FOUND = 1,
        XF_BACKEND_UNUSABLE = 2,
        XF_BACKEND_USABLE = 3,
        XF_BACKEND_ACTIVE = 4,
    }
    "text.h" i32 { XF_TOKEN_START = 0, XF_TOKEN_END = 1 }
    "train.h" xf_step_outcome: c_uint {
        XF_STEP_UPDATED = 0,
        XF_STEP_SKIPPED = 1,
        XF_STEP_ROLLED_BACK = 2,
    }
    "decode.h" xf_attention_kind: c_uint {
        XF_ATTENTION_ENCODER = 0,
        XF_ATTENTION_DECODER = 1,
        XF_ATTENTION_CROSS = 2,
    }
    "eval.h" xf_bleu_tokenize: c_uint {
        XF_BLEU_13A = 0,
        XF_BLEU_NONE = 1,
        XF_BLEU_SPLIT_HYPHENS = 2,
    }
}
