/** The user of the embedded API that its control plane is. */
export const controlPlaneUser = "fairlead:control-plane";
