/** The ProxyConfig object in, what istiod's webhook says of it into the report. */
import type { ProxyConfigSpec } from "../../model/index.ts";
import type { Check } from "./check.ts";
import { checkSelector } from "./selector.ts";

export const checkProxyConfig: Check<ProxyConfigSpec> = (report, spec) => {
  checkSelector(report.at("selector"), spec.selector);
  if ((spec.concurrency ?? 0) < 0) report.at("concurrency").error("concurrency must be greater than or equal to 0");
};
