#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Spelling of sources and documents; 77 (skipped) without codespell.
cd "$1" || exit 1
command -v codespell >/dev/null || exit 77
codespell -q 3 -L "ans,fo,te,nd,ba,hist,numer,inout,nin,wit,ot,sting,implementor,re-use,crate,sise,shufle,ser,ue,caf,fpr" \
    --skip "*.json,*.gz,*.bin,*.png,*.jpg,./build,./.git,tests/fuzz/corpus,./proto/grpc,./LICENSE" .
