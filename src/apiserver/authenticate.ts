/** A connection and its headers in, the user out: a client certificate of our own authority, or a service-account token. Nobody else. */
import type { TLSSocket } from "node:tls";
import { apiAudience, type Tokens } from "./tokens.ts";
import type { User } from "./user.ts";

export async function authenticate(
  tokens: Tokens,
  socket: TLSSocket,
  authorization: string | undefined,
): Promise<User | { readonly error: string }> {
  const certified = certificateUser(socket);
  if (certified) return certified;
  const bearer = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(authorization ?? "");
  if (!bearer?.[1]) return { error: "no client certificate and no bearer token" };
  const verified = await tokens.verify(bearer[1], [apiAudience]);
  return "error" in verified ? verified : verified.user;
}

/** Reading a certificate costs as much as a small request; it stays the same as long as its connection. */
const known = new WeakMap<TLSSocket, User>();

function certificateUser(socket: TLSSocket): User | undefined {
  const found = known.get(socket) ?? readCertificate(socket);
  if (found) known.set(socket, found);
  return found;
}

/** `authorized` is true only for a chain that ends in our own authority. */
function readCertificate(socket: TLSSocket): User | undefined {
  if (!socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  const name = [subject?.CN ?? []].flat()[0];
  if (name === undefined || name === "") return undefined;
  const organizations: readonly string[] = [subject.O ?? []].flat();
  return { name, uid: "", groups: [...organizations, "system:authenticated"], extra: {} };
}
