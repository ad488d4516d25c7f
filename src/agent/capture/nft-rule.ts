/** One capture rule, in iptables' words, and the family it is of in; the same rule in nft's words out. */
import { FairleadError } from "../../lib/index.ts";
import type { CaptureRule } from "./rule.ts";

export interface NftRule {
  readonly text: string;
  /** Whether it matches packets of one family alone. */
  readonly isOfFamily: boolean;
}

/** What iptables calls `ISTIO_IN_REDIRECT` Istio calls `istio-in-redirect` in nftables. */
export function nftChain(chain: string): string {
  return chain.toLowerCase().replaceAll("_", "-");
}

export function nftRule({ params }: CaptureRule, family: "ip" | "ip6"): NftRule {
  const words = [...params];
  const matches: string[] = [];
  let [negated, protocol, matching, target] = ["", "", "", ""];
  const take = (): string => words.shift() ?? "";
  while (words.length > 0) {
    const word = take();
    if (word === "!") negated = "!= ";
    else if (word === "-m") matching = take();
    else if (word === "-p") {
      protocol = take();
      matches.push(`meta l4proto ${protocol}`);
    } else if (word === "-j") target = targetOf(take(), words.splice(0), family);
    else {
      matches.push(`${selector(word, protocol, matching, family)} ${negated}${valueOf(word, take())}`);
      negated = "";
    }
  }
  const isOfFamily = params.includes("-d") || params.includes("-s");
  return { text: [...matches, target].join(" "), isOfFamily };
}

function selector(option: string, protocol: string, matching: string, family: string): string {
  switch (option) {
    case "-i":
      return "iifname";
    case "-o":
      return "oifname";
    case "-d":
      return `${family} daddr`;
    case "-s":
      return `${family} saddr`;
    case "--dport":
    case "--dports":
      return `${protocol} dport`;
    case "--sport":
      return `${protocol} sport`;
    case "--uid-owner":
      return "meta skuid";
    case "--gid-owner":
      return "meta skgid";
    case "--ctstate":
      return "ct state";
    case "--mark":
      return matching === "connmark" ? "ct mark" : "meta mark";
    default:
      throw new FairleadError("internal", `no word of nft is known for ${option}`);
  }
}

function valueOf(option: string, value: string): string {
  switch (option) {
    case "-i":
    case "-o":
      // iptables ends the beginning of a name with a plus sign.
      return `"${checked(value, /^[\w.:@-]{1,15}\+?$/, "interface").replace(/\+$/, "*")}"`;
    case "--dport":
    case "--sport":
      return port(value);
    case "--dports":
      return `{ ${value.split(",").map(port).join(", ")} }`;
    case "--uid-owner":
    case "--gid-owner":
      return checked(value, /^[\w][\w.-]*$/, "user or group");
    case "--ctstate":
      return value.toLowerCase();
    case "--mark":
      return mark(value);
    default:
      return checked(value, /^[\da-f.:]+(\/\d+)?$/i, "range of addresses");
  }
}

function targetOf(name: string, options: readonly string[], family: string): string {
  const option = (...names: readonly string[]): string =>
    options[options.findIndex((word) => names.includes(word)) + 1] ?? "";
  switch (name) {
    case "RETURN":
    case "ACCEPT":
    case "DROP":
      return `counter ${name.toLowerCase()}`;
    case "REDIRECT":
      return `counter redirect to :${port(option("--to-ports", "--to-port"))}`;
    case "TPROXY": {
      const [to = "", marked = ""] = [option("--on-port"), option("--tproxy-mark").split("/")[0]];
      return `tproxy ${family} to :${port(to)} meta mark set ${mark(marked)} counter accept`;
    }
    case "MARK":
      return `counter meta mark set ${mark(option("--set-mark"))}`;
    case "CONNMARK":
      return options.includes("--save-mark") ? "counter ct mark set meta mark" : "counter meta mark set ct mark";
    case "CT":
      return `counter ct zone set ${checked(option("--zone"), /^\d+$/, "zone")}`;
    default:
      return `counter jump ${nftChain(name)}`;
  }
}

const port = (text: string): string => checked(text, /^\d{1,5}([:-]\d{1,5})?$/, "port").replace(":", "-");
const mark = (text: string): string => checked(text, /^(\d+|0x[\da-f]+)$/i, "mark");

/** A script of nft has words that end a rule and begin another: nothing passes that could be one. */
function checked(text: string, form: RegExp, what: string): string {
  if (form.test(text)) return text;
  throw new FairleadError("invalid", `${JSON.stringify(text)} is not a ${what} that nft could be told`);
}
