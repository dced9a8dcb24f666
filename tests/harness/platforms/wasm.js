// Gives the environment of Node.js to a test that emscripten compiled. SPDX-License-Identifier: Apache-2.0
Module["preRun"] = () => Object.assign(ENV, process.env);
