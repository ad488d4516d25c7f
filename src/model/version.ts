/** The Istio version that Fairlead stands in for: told by proxies in their node and by the control plane where it is asked. */
export const istioVersion = "1.32.0";

/** Fairlead's own version, which is also the tag of its image. */
export const fairleadVersion = "0.1.0";

/** Where the image of control plane and proxy is published, and its name there. */
export const fairleadHub = "ghcr.io/fairlead-mesh";
export const fairleadImage = "fairlead";
