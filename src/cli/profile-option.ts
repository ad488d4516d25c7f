/** The option that says which Envoys what is rendered is for. */
import { Option } from "commander";

export const profileOption = (text: string): Option =>
  new Option("--profile <profile>", text).choices(["istio-proxy", "envoy"]).default("istio-proxy");
