/** The Istio version that Fairlead stands in for: told by proxies in their node and by the control plane where it is asked. */
export const istioVersion = "1.32.0";
