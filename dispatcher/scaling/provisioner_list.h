/* SPDX-License-Identifier: Apache-2.0 */
/* Every provisioner: CW_PROVISION(name): cw_provision_NAME of provision_NAME.c. */
CW_PROVISION(external)
CW_PROVISION(none)
CW_PROVISION(process)
