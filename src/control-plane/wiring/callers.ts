/** Tokens and certificates of callers in; who they are, and the service that gives them certificates, out. */
import { createCertificateService, createRateLimit } from "../../ca/index.ts";
import type { HttpClient } from "../../fetch/index.ts";
import type { Route } from "../../rpc/index.ts";
import type { Authenticate } from "../../xds/index.ts";
import { authenticateWith, createStillThere, createTokenJudge, firstJudge, type TokenJudge } from "../authenticate.ts";
import { createCertificateHeld } from "../certificate-held.ts";
import { createIssuerJudge } from "../issuer-judge.ts";
import type { Trust } from "../trust/index.ts";
import type { Plane } from "./plane.ts";

export interface CallersInputs {
  readonly trust: Trust;
  readonly trustDomain: () => string;
  readonly http: HttpClient;
}

export interface Callers {
  readonly judge: TokenJudge;
  readonly authenticate: Authenticate;
  /** Absent where somebody else signs. */
  readonly certificates: Route | undefined;
}

export function createCallers({ options, client, watched, metrics }: Plane, inputs: CallersInputs): Callers {
  const { trust, trustDomain, http } = inputs;
  const { now, monotonicMs, log } = options;
  const pods = watched.objects("", "Pod");
  const ofIssuers = (options.issuers ?? []).map((rule) =>
    createIssuerJudge({ rule, http, trustDomain, now, monotonicMs, log: log.scope("oidc") }),
  );
  const audiences = options.tokenAudiences ?? ["istio-ca"];
  const ofApi = createTokenJudge({ ...options, client, pods, audiences, trustDomain });
  const judge = firstJudge(...ofIssuers, ofApi);
  const stillThere = createStillThere(client);
  const certificates =
    trust.signer &&
    createCertificateService({
      signer: trust.signer,
      authenticate: judge.identify,
      stillThere,
      acceptsPeer: trust.acceptsPeer,
      rateLimit: createRateLimit({
        perHolder: { burst: 100, perSecond: 10 },
        perAccount: { burst: 1000, perSecond: 100 },
        total: { burst: 2000, perSecond: 1000 },
        monotonicMs,
      }),
      metrics,
      log,
    });
  return {
    judge,
    authenticate: authenticateWith(judge, createCertificateHeld({ stillThere, pods }), trust.acceptsPeer),
    certificates,
  };
}
