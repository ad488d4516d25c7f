/** A request in, the user whose rights it has out. */
import type { TLSSocket } from "node:tls";
import { authenticate } from "./authenticate.ts";
import type { Authorizer } from "./authorizer.ts";
import { failure } from "./failure.ts";
import { impersonate } from "./impersonate.ts";
import { headerOf, type Request } from "./respond.ts";
import type { Tokens } from "./tokens.ts";
import type { User } from "./user.ts";

export async function identify(tokens: Tokens, authorizer: Authorizer, request: Request): Promise<User> {
  const user = await authenticate(tokens, socketOf(request), headerOf(request, "authorization"));
  if ("error" in user) throw failure("Unauthorized", "Unauthorized");
  return impersonate(authorizer, user, request);
}

function socketOf(request: Request): TLSSocket {
  return ("stream" in request && request.stream.session ? request.stream.session.socket : request.socket) as TLSSocket;
}
