# For scripts that source this file: changes to an empty folder, which is deleted at the end, and defines the functions of
# expect.sh.
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "${BASH_SOURCE[0]}")/../support/expect.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
