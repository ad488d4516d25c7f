/** The secrets that the agent hands to Envoy: what a workload shows to its peers, and whom it believes. */
export interface WorkloadCredentials {
  /** Leaf and intermediates, PEM. */
  readonly chain: string;
  /** PKCS#8 PEM; goes into SDS answers and nowhere else. */
  readonly key: string;
  /** PEM bundle. */
  readonly roots: string;
  readonly notAfter: Date;
}
