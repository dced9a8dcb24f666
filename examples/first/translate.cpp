// translate.cpp - the program of the README in C++: translates standard input line by line.
//
//     first_translate MODEL.xf < sentences
//
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>
#include <xformer/xformer.hpp>

int main(int argc, char **argv) {
    try {
        const xformer::Context context;
        xformer::Decoder decoder(xformer::Model::load(context, argc > 1 ? argv[1] : "model.xf"));
        for (std::string line; std::getline(std::cin, line);) std::cout << decoder.translate(line) << '\n';
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
