/** The marks that TPROXY mode needs besides: connections keep the mark that Envoy's original_src set, and nothing is caught twice. */
import { splitList } from "./config.ts";
import { append, type CaptureRule, type FamilyScope, insert } from "./rule.ts";

/** Set on what Envoy's outbound side sends to the Pod's own address, so that inbound takes it. */
const outboundMark = "1338";

export function tproxyRules({ config, loopback, passthroughSource }: FamilyScope): readonly CaptureRule[] {
  const mark = config.inboundTproxyMark;
  const markOwn = (match: string, owner: string): CaptureRule =>
    append(
      "mangle",
      "OUTPUT",
      "!",
      "-d",
      loopback,
      "-p",
      "tcp",
      "-o",
      "lo",
      "-m",
      "owner",
      match,
      owner,
      "-j",
      "MARK",
      "--set-mark",
      outboundMark,
    );
  return [
    append("mangle", "PREROUTING", "-p", "tcp", "-m", "mark", "--mark", mark, "-j", "CONNMARK", "--save-mark"),
    append("mangle", "OUTPUT", "-p", "tcp", "-o", "lo", "-m", "mark", "--mark", mark, "-j", "RETURN"),
    ...splitList(config.proxyUid).map((uid) => markOwn("--uid-owner", uid)),
    ...splitList(config.proxyGid).map((gid) => markOwn("--gid-owner", gid)),
    append("mangle", "OUTPUT", "-p", "tcp", "-m", "connmark", "--mark", mark, "-j", "CONNMARK", "--restore-mark"),
    insert("mangle", "ISTIO_INBOUND", 1, "-p", "tcp", "-m", "mark", "--mark", mark, "-j", "RETURN"),
    insert("mangle", "ISTIO_INBOUND", 2, "-p", "tcp", "-s", passthroughSource, "-i", "lo", "-j", "RETURN"),
    insert(
      "mangle",
      "ISTIO_INBOUND",
      3,
      "-p",
      "tcp",
      "-i",
      "lo",
      "-m",
      "mark",
      "!",
      "--mark",
      outboundMark,
      "-j",
      "RETURN",
    ),
  ];
}
