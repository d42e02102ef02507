# SPDX-License-Identifier: Apache-2.0
# cmake -DIN=file -DOUT=file.c -P embed.cmake: the bytes of IN as the C array of python/python_spawn.h.
file(READ "${IN}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR bytes "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE "${OUT}" "#include \"python/python_spawn.h\"\n"
     "const unsigned char cw_python_program[] = {\n${hex}\n};\n"
     "const size_t cw_python_program_n = ${bytes};\n")
