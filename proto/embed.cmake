# SPDX-License-Identifier: Apache-2.0
# cmake -DIN=file -DOUT=file.c -P embed.cmake: the bytes of IN as the C array of proto/descriptors.h.
file(READ "${IN}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR bytes "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE "${OUT}" "#include \"proto/descriptors.h\"\n"
     "const unsigned char cw_proto_descriptors[] = {\n${hex}\n};\n"
     "const size_t cw_proto_descriptors_n = ${bytes};\n")
