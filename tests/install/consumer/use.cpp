// use.cpp - a C++ program of somebody else: it sees the same headers, and its own C++ library beside the one inside.
//
// SPDX-License-Identifier: Apache-2.0
#include <xformer/xformer.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

int main() {
    xf_error err;
    xf_context *created = nullptr;
    if (xf_context_create(nullptr, nullptr, &created, &err) != XF_OK) {
        std::cerr << err.message << '\n';
        return 1;
    }
    const std::unique_ptr<xf_context, void (*)(xf_context *)> context(created, xf_context_free);
    try {
        if (xf_backend_load(context.get(), "/nonexistent", &err) != XF_OK) throw std::runtime_error(err.message);
    } catch (const std::exception &error) {
        std::cout << "version " << xf_version() << ", refused: " << error.what() << '\n';
        return std::string(error.what()).find("/nonexistent") == std::string::npos;
    }
    return 1;
}
