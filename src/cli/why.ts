/** `fairlead why`: a request in; what becomes of it, step by step, and which object and field decided, out. */
import type { Command } from "commander";
import type { Offline } from "../control-plane/index.ts";
import { possibilities } from "../explain/index.ts";
import { FairleadError } from "../lib/index.ts";
import type { Profile } from "../model/index.ts";
import { collect, type Io } from "./command.ts";
import { outputOption, parseOutput } from "./output.ts";
import { profileOption } from "./profile-option.ts";
import { parseDestination } from "./why/destination-text.ts";
import { headersOf } from "./why/headers.ts";
import { objectsOfApi, objectsOfFiles, type WhyObjects } from "./why/input.ts";
import { type LoggedQuestion, resolveLog } from "./why/log-question.ts";
import { getsThrough, openWhyMesh } from "./why/mesh.ts";
import type { Place } from "./why/place.ts";
import { deciderNames, reportData, textReport } from "./why/report.ts";
import { type Asked, resolveQuestion } from "./why/resolve.ts";

interface WhyFlags {
  readonly filename: readonly string[];
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: string;
  readonly header: readonly string[];
  readonly request?: string;
  readonly jwt?: string;
  readonly log?: string;
  readonly sni?: string;
  readonly from?: string;
  readonly profile: Profile;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  program
    .command("why")
    .summary("Say what becomes of a request, and which object and field decides it")
    .description(
      "Follows one request through the configuration that the proxies are sent: listener, filter chain, route, cluster,\n" +
        "endpoint, then the server's side with its authentication and authorization. Nothing is sent.\n" +
        "SRC is a Pod with a proxy, or a Service or app label that stands for one; a gateway takes requests from its clients;\n" +
        "`outside` is a caller without a proxy.\n\n" +
        "Ends with status 0 if the request gets through (or a route answers it), 1 if it does not.",
    )
    .argument("[src]", "who calls: POD[.NAMESPACE], a Service, an app label, a gateway, or `outside`")
    .argument("[dst]", "[http|https|grpc|tcp|tls://]HOST[:PORT][/PATH]")
    .option("-f, --filename <path>", "a file or folder, instead of the API's objects; may be repeated", collect, [])
    .option("-n, --namespace <namespace>", "of SRC where its name has none", "default")
    .option("-H, --header <name: value>", "a header of the request; may be repeated", collect, [])
    .option("-X, --request <method>", "the method of the request")
    .option("--jwt <file>", "a token, sent as Authorization: Bearer")
    .option("--log <line>", "instead of SRC and DST: a line of an access log, Istio's text or JSON")
    .option("--sni <name>", "the server name of TLS, where it is not the host")
    .option("--from <address>", "where a request from outside comes from")
    .option("--kubeconfig <file>", "how to reach the API")
    .option("--context <name>", "context of the kubeconfig")
    .addOption(profileOption("which filters the Envoys have"))
    .addOption(outputOption("text"))
    .addHelpText(
      "after",
      "\nExamples:\n" +
        "  fairlead why productpage reviews:9080/reviews/1\n" +
        "  fairlead why -f k8s/ sleep.shop web/admin -X POST -H 'x-user: jason' --jwt token.txt\n" +
        "  fairlead why istio-ingressgateway.istio-system https://shop.example.com/cart -o json\n" +
        "  fairlead why --log '[2026-11-15T20:00:00.000Z] \"GET /admin HTTP/1.1\" 403 - …'\n",
    )
    .action(async (source: string | undefined, destination: string | undefined, flags: WhyFlags) =>
      exit(await why(source, destination, flags, io)),
    );
}

async function why(
  source: string | undefined,
  destination: string | undefined,
  flags: WhyFlags,
  io: Io,
): Promise<number> {
  const ask = await questionOf(source, destination, flags, io);
  const given = await readObjects(flags, io);
  const { offline, place, sources } = await openWhyMesh(given, flags.profile);
  const asked = ask(offline, place);
  const found = possibilities(place.world, asked.departure);
  const report = {
    request: asked.text,
    ...("logged" in asked ? { logged: asked.logged } : {}),
    possibilities: found,
    assumptions: asked.assumptions,
    sources,
  };
  io.out(
    parseOutput(
      flags.output,
      "text",
    )({ plain: () => textReport(report), data: () => reportData(report), names: () => deciderNames(report) }),
  );
  return getsThrough(found.main.outcome) ? 0 : 1;
}

type Ask = (offline: Offline, place: Place) => Asked | LoggedQuestion;

/** Mistakes in the question are told before anything is read. */
async function questionOf(
  source: string | undefined,
  destination: string | undefined,
  flags: WhyFlags,
  io: Io,
): Promise<Ask> {
  const headers = await headersOf(flags.header, flags.jwt, io.cwd);
  const { log } = flags;
  if (log !== undefined) {
    if (source !== undefined)
      throw new FairleadError("usage", "--log says who called whom; leave out SRC and DST", {
        hint: "quote the line as one argument",
      });
    return (_offline, place) => resolveLog(log, headers, place);
  }
  if (source === undefined || destination === undefined)
    throw new FairleadError("usage", "name who calls and whom: fairlead why SRC DST", {
      hint: "`fairlead why --help` has examples",
    });
  const question = {
    source,
    destination: parseDestination(destination),
    namespace: flags.namespace,
    method: flags.request,
    headers,
    sni: flags.sni,
    from: flags.from,
  };
  return (offline, place) => resolveQuestion(question, offline, place);
}

async function readObjects(flags: WhyFlags, io: Io): Promise<WhyObjects> {
  if (flags.filename.length === 0) return objectsOfApi(flags, io);
  const read = await objectsOfFiles(flags.filename, flags.namespace);
  for (const note of read.notes) io.err(`note: ${note}\n`);
  return read;
}
