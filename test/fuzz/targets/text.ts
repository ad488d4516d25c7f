/** Targets that read text: YAML, JSON, patterns, names, settings. */

import { parseAppProbes } from "../../../src/agent/app-probe.ts";
import { parseDownwardApi } from "../../../src/agent/bootstrap/node.ts";
import { loadProxyConfig } from "../../../src/agent/bootstrap/proxy-config.ts";
import { decodeMeshConfig, decodeProxyConfig, loadCel } from "../../../src/config/index.ts";
import { askOf } from "../../../src/control-plane/index.ts";
import { parseDestination } from "../../../src/control-plane/why/destination-text.ts";
import { parseWhyQuestion } from "../../../src/dashboard/index.ts";
import { parseAccessLog } from "../../../src/explain/index.ts";
import {
  compilePattern,
  objectLimits,
  parseDuration,
  parseIp,
  parseJson,
  parsePrefix,
  parseYaml,
  patternSize,
  repeatedKeys,
  yamlLines,
} from "../../../src/lib/index.ts";
import { matchesRequirements, parseIdentity, parseLabelSelector, publicJwks } from "../../../src/model/index.ts";
import { uriNames } from "../../../src/rpc/peer.ts";
import { parseNodeId } from "../../../src/xds/index.ts";
import { mutateText } from "../mutate.ts";
import { type Target, target } from "../target.ts";

const yamls = [
  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {app: b}\ndata:\n  x: |\n    text\n---\n- 1\n- ~\n",
  "a: &x [1, 2]\nb: *x\nc: {<<: {d: 1}}\n",
  "defaultConfig:\n  concurrency: 2\n  drainDuration: 5s\n  proxyMetadata: {A: '1'}\ntrustDomain: td\n",
];
const yamlWords = [
  "\n",
  "  ",
  "- ",
  ": ",
  "&a ",
  "*a ",
  "<<: ",
  "{",
  "}",
  "[",
  "]",
  "|",
  ">-",
  "---\n",
  "'",
  '"',
  "!!binary ",
  "? ",
  "#",
  "\t",
  "__proto__: ",
];
const logLines = [
  '[2026-11-15T20:00:00.000Z] "GET /a HTTP/1.1" 403 UF,URX rbac[x] - "-" 0 19 1 - "-" "curl" "id" "web" "-" inbound|8080|| - 10.0.0.1:8080 [::1]:1 - default',
  '{"response_code":503,"response_flags":"UF","method":"GET","path":"/","downstream_local_address":"10.0.0.1:80"}',
];
const logWords = ['"', "[", "]", " ", "-", ":", "//", "/", "\\", "{", "}", "0", "HTTP/2", "__proto__"];
const jsons = [
  '{"a":[1,2.5e3,null,true,"x\\u0041"],"b":{"c":{}}}',
  "[[[[]]]]",
  '{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"1"}]}',
];
const jsonWords = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  "\\",
  "\\u0000",
  "1e999",
  "-",
  "null",
  '"__proto__":',
  '"constructor":',
];
const patterns = ["^a(b|c)*d$", "[a-z]{1,3}\\d+", "(?i)x.*?y", "\\p{Greek}", "(a+)+$"];
const patternWords = [
  "(",
  ")",
  "*",
  "+",
  "?",
  "{1,1000}",
  "[",
  "]",
  "\\",
  "|",
  "^",
  "$",
  ".",
  "(?P<n>",
  "\\pN",
  "\\x{10ffff}",
];
const cels = [
  "self.x > 1 && has(self.y)",
  "self.list.all(i, i.startsWith('a'))",
  "size(self.x) == duration('5s')",
  "self.m['a'].matches('b+')",
];
const celWords = [
  "self",
  ".",
  "(",
  ")",
  "[",
  "]",
  "&&",
  "||",
  "!",
  "?",
  ":",
  "'",
  "in",
  "map(",
  "1",
  "u",
  "size(",
  "matches(",
  "*",
  "/",
  "0",
];

/** A target that reads one text. */
const reads = (
  name: string,
  examples: readonly string[],
  words: readonly string[],
  run: (text: string) => unknown,
  more: Partial<Target> = {},
): Target => ({
  ...target({ name, input: (random) => mutateText(random, examples, words), run }),
  ...more,
});

export async function textTargets(): Promise<readonly Target[]> {
  const cel = await loadCel();
  return [
    reads("access log", logLines, logWords, parseAccessLog),
    reads(
      "question",
      ['{"source":"a.b","destination":"c:80/d","headers":[["x","y"]],"token":"a.b.c"}', '{"log":"x"}'],
      logWords,
      (text) => askOf(parseWhyQuestion(text)),
    ),
    reads("destination", ["https://web.shop:8443/a?b#c", "[2001:db8::1]:80", "tcp://web"], logWords, parseDestination),
    reads("yaml", yamls, yamlWords, (text) => parseYaml(text, objectLimits)),
    reads("yaml lines", yamls, yamlWords, (text) => yamlLines(text, objectLimits).length),
    reads("mesh config", yamls, yamlWords, decodeMeshConfig),
    reads("proxy config", yamls, yamlWords, decodeProxyConfig),
    reads("agent's proxy config", yamls, yamlWords, (text) =>
      loadProxyConfig({ meshFile: text, env: text, annotations: { "proxy.istio.io/config": text } }),
    ),
    reads("json", jsons, jsonWords, (text) => parseJson(text)),
    reads("repeated keys", jsons, jsonWords, (text) => {
      parseJson(text);
      return repeatedKeys(text);
    }),
    reads("jwks", jsons, jsonWords, (text) => publicJwks(text) ?? ""),
    reads(
      "app probes",
      ['{"/app-health/c/livez":{"httpGet":{"port":80,"path":"/"},"timeoutSeconds":1}}'],
      jsonWords,
      (text) => [...parseAppProbes(text)],
    ),
    reads("patterns", patterns, patternWords, (text) => {
      const pattern = compilePattern(text);
      patternSize(text.slice(0, 200));
      return "error" in pattern ? pattern.error : pattern.find("ab".repeat(200)) || pattern.matches("a".repeat(400));
    }),
    reads("cel", cels, celWords, (text) => {
      cel.syntaxError(text);
      const verdict = cel.evaluate(text, { self: { x: 1n, list: ["a"], m: { a: "b" } } });
      return "error" in verdict ? verdict.error : typeof verdict.value;
    }),
    reads(
      "label selectors",
      ["a=b,c!=d", "x in (a,b),!y,z notin (c)", "k8s.io/app==web"],
      ["(", ")", ",", "=", "!", " in ", "/", " "],
      (text) => {
        const parsed = parseLabelSelector(text);
        return "error" in parsed ? parsed.error : matchesRequirements(parsed, { a: "b", ["__proto__"]: "x" });
      },
    ),
    reads(
      "addresses",
      ["10.0.0.1/8", "::ffff:1.2.3.4/96", "fe80::1%eth0", "1.5h3m2us"],
      [".", ":", "/", "%", "0", "f", "h", "-"],
      (text) => [parseIp(text)?.length, "error" in parsePrefix(text), parseDuration(text) === undefined],
    ),
    reads(
      "identities",
      ["spiffe://cluster.local/ns/a/sa/b"],
      ["/", "spiffe://", "..", "%2f", "\0", "ns"],
      (text) => parseIdentity(text) ?? "",
    ),
    reads(
      "alternative names",
      ['URI:spiffe://a/ns/b/sa/c, DNS:x, URI:"q\\"uo,te"'],
      [", ", "URI:", '"', "\\", ":", "DNS:"],
      (text) => uriNames(text),
    ),
    reads(
      "node ids",
      ["sidecar~10.0.0.1~pod.ns~ns.svc.cluster.local", "router~::1~a.b~c"],
      ["~", ".", ":", "%"],
      (text) => parseNodeId(text) ?? "",
    ),
    reads(
      "downward API",
      ['a="x"\nb="a\\nb\\"c"\n'],
      ["=", '"', "\\", "\n", "__proto__=", "\\UFFFFFFFF", "\\x"],
      (text) => parseDownwardApi(text),
    ),
  ];
}
