/** `fairlead why`: a request in; what becomes of it, step by step, and which object and field decided, out. */
import type { Command } from "commander";
import { type Ask, answerOf, askOf } from "../control-plane/index.ts";
import { possibilities } from "../explain/index.ts";
import type { Profile } from "../model/index.ts";
import type { WhyAnswer, WhyQuestion } from "../read-api/index.ts";
import { collect, type Io } from "./command.ts";
import { answerOrThrow, askLivePlane, type LiveFlags, withLiveOptions } from "./live-plane.ts";
import { outputOption, parseOutput } from "./output.ts";
import { headersOf } from "./why/headers.ts";
import { objectsOfApi, objectsOfFiles, type WhyObjects } from "./why/input.ts";
import { openWhyMesh } from "./why/mesh.ts";
import { deciderNames, getsThrough, textReport } from "./why/report.ts";

interface WhyFlags extends LiveFlags {
  readonly filename: readonly string[];
  readonly namespace: string;
  readonly header: readonly string[];
  readonly request?: string;
  readonly jwt?: string;
  readonly log?: string;
  readonly sni?: string;
  readonly from?: string;
  readonly profile?: Profile;
  readonly output: string;
}

export function register(program: Command, io: Io, exit: (status: number) => void): void {
  withLiveOptions(program.command("why"))
    .summary("Say what becomes of a request, and which object and field decides it")
    .description(
      "Follows one request through the configuration that the proxies are sent: listener, filter chain, route, cluster,\n" +
        "endpoint, then the server's side with its authentication and authorization. Nothing is sent.\n" +
        "The running control plane is asked for what it has sent; where there is none, it is worked out from the objects.\n" +
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
  const question = await questionOf(source, destination, flags, io);
  // Mistakes in it are told before anything is read.
  const ask = askOf(question);
  const answer = (await askLive(question, flags, io)) ?? (await workOut(ask, flags, io));
  io.out(
    parseOutput(
      flags.output,
      "text",
    )({ plain: () => textReport(answer), data: () => answer, names: () => deciderNames(answer) }),
  );
  return getsThrough(answer.verdict) ? 0 : 1;
}

async function questionOf(
  source: string | undefined,
  destination: string | undefined,
  flags: WhyFlags,
  io: Io,
): Promise<WhyQuestion> {
  return {
    ...given("source", source),
    ...given("destination", destination),
    namespace: flags.namespace,
    ...given("method", flags.request),
    headers: await headersOf(flags.header, flags.jwt, io.cwd),
    ...given("sni", flags.sni),
    ...given("from", flags.from),
    ...given("log", flags.log),
  };
}

const given = <Name extends string>(name: Name, value: string | undefined): Partial<Record<Name, string>> =>
  value === undefined ? {} : ({ [name]: value } as Record<Name, string>);

/** Of files, or of Envoys other than those that are connected, no control plane knows. */
async function askLive(question: WhyQuestion, flags: WhyFlags, io: Io): Promise<WhyAnswer | undefined> {
  if (flags.filename.length > 0 || flags.profile !== undefined) return undefined;
  return answerOrThrow<WhyAnswer>(await askLivePlane(flags, "whyz", question, io));
}

async function workOut(ask: Ask, flags: WhyFlags, io: Io): Promise<WhyAnswer> {
  const { explained, sources } = await openWhyMesh(await readObjects(flags, io), flags.profile ?? "istio-proxy");
  const asked = ask(explained);
  return answerOf({
    request: asked.text,
    ...("logged" in asked ? { logged: asked.logged } : {}),
    possibilities: possibilities(explained.world, asked.departure),
    assumptions: asked.assumptions,
    sources,
  });
}

async function readObjects(flags: WhyFlags, io: Io): Promise<WhyObjects> {
  if (flags.filename.length === 0) return objectsOfApi(flags, io);
  const read = await objectsOfFiles(flags.filename, flags.namespace);
  for (const note of read.notes) io.err(`note: ${note}\n`);
  return read;
}
