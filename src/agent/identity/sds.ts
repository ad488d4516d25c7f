/** Envoy's secret discovery, state of the world and delta, over a source of secrets. A name without a secret yet is answered when there is one, never with nothing. */
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { DataSourceSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import {
  CertificateValidationContextSchema,
  TlsCertificateSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js";
import {
  type Secret as EnvoySecret,
  SecretSchema,
} from "../../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
  type DiscoveryRequest,
  type DiscoveryResponse,
  DiscoveryResponseSchema,
  ResourceSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { SecretDiscoveryService } from "../../gen/envoy/service/secret/v3/sds_pb.js";
import type { Logger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { bidi, protoMethod, type Route, type Send } from "../../rpc/index.ts";
import type { Secret, SecretSource } from "./secrets.ts";

export function createSdsRoutes(source: SecretSource, log: Logger): readonly Route[] {
  const { streamSecrets, deltaSecrets } = SecretDiscoveryService.method;
  return [
    bidi(protoMethod(streamSecrets), (requests, call, send) =>
      serveSotw(requests, { source, log, signal: call.signal }, send),
    ),
    bidi(protoMethod(deltaSecrets), (requests, call, send) =>
      serveDelta(requests, { source, log, signal: call.signal }, send),
    ),
  ];
}

interface Context {
  readonly source: SecretSource;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** What a stream asks for, what it was told last, and when it must be told again. */
interface Subscriptions {
  readonly names: () => readonly string[];
  set(names: readonly string[]): void;
  /** Secrets whose version the stream has not been sent. */
  unsent(): readonly Secret[];
  markSent(secrets: readonly Secret[]): void;
  close(): void;
}

function createSubscriptions(source: SecretSource, changed: () => void): Subscriptions {
  const watches = new Map<string, () => void>();
  const sent = new Map<string, string>();
  const drop = (name: string): void => {
    watches.get(name)?.();
    watches.delete(name);
    sent.delete(name);
  };
  return {
    names: () => [...watches.keys()],
    set(names) {
      const wanted = new Set(names);
      for (const name of [...watches.keys()]) if (!wanted.has(name)) drop(name);
      for (const name of wanted) if (!watches.has(name)) watches.set(name, source.watch(name, changed));
    },
    unsent() {
      const secrets = [...watches.keys()].map((name) => source.get(name)).filter((secret) => secret !== undefined);
      return secrets.filter((secret) => sent.get(secret.name) !== secret.version);
    },
    markSent(secrets) {
      for (const { name, version } of secrets) sent.set(name, version);
    },
    close() {
      for (const name of [...watches.keys()]) drop(name);
    },
  };
}

async function serveSotw(
  requests: AsyncGenerator<DiscoveryRequest>,
  context: Context,
  send: Send<DiscoveryResponse>,
): Promise<void> {
  let nonce = 0;
  const push = createPusher(context, async (subscriptions, secrets) => {
    // A response holds all that is subscribed to, or Envoy would take the missing for unchanged only by luck.
    const all = subscriptions
      .names()
      .map((name) => context.source.get(name))
      .filter((secret) => secret !== undefined);
    const resources = all.map((secret) => anyPack(SecretSchema, envoySecret(secret)));
    nonce++;
    subscriptions.markSent(secrets);
    await send(
      create(DiscoveryResponseSchema, {
        versionInfo: String(nonce),
        nonce: String(nonce),
        typeUrl: types.secret,
        resources,
      }),
    );
  });
  try {
    for await (const request of requests) {
      if (request.errorDetail)
        context.log.warn("Envoy refused a secret", {
          cause: request.errorDetail.message,
          names: request.resourceNames.join(","),
        });
      if (request.responseNonce !== "" && request.responseNonce !== String(nonce)) continue;
      push.subscriptions.set(request.resourceNames);
      await push.run();
    }
  } finally {
    push.subscriptions.close();
  }
}

async function serveDelta(
  requests: AsyncGenerator<DeltaDiscoveryRequest>,
  context: Context,
  send: Send<DeltaDiscoveryResponse>,
): Promise<void> {
  let nonce = 0;
  const push = createPusher(context, async (subscriptions, secrets) => {
    const resources = secrets.map((secret) =>
      create(ResourceSchema, {
        name: secret.name,
        version: secret.version,
        resource: anyPack(SecretSchema, envoySecret(secret)),
      }),
    );
    nonce++;
    subscriptions.markSent(secrets);
    await send(create(DeltaDiscoveryResponseSchema, { nonce: String(nonce), typeUrl: types.secret, resources }));
  });
  try {
    for await (const request of requests) {
      if (request.errorDetail) context.log.warn("Envoy refused a secret", { cause: request.errorDetail.message });
      const dropped = new Set(request.resourceNamesUnsubscribe);
      const kept = push.subscriptions.names().filter((name) => !dropped.has(name));
      push.subscriptions.set([...kept, ...request.resourceNamesSubscribe]);
      await push.run();
    }
  } finally {
    push.subscriptions.close();
  }
}

interface Pusher {
  readonly subscriptions: Subscriptions;
  /** Sends what has not been sent; one at a time. */
  run(): Promise<void>;
}

function createPusher(
  context: Context,
  send: (subscriptions: Subscriptions, secrets: readonly Secret[]) => Promise<void>,
): Pusher {
  let running: Promise<void> = Promise.resolve();
  const sendUnsent = async (): Promise<void> => {
    const secrets = subscriptions.unsent();
    if (secrets.length > 0 && !context.signal.aborted) await send(subscriptions, secrets);
  };
  const run = (): Promise<void> => {
    running = running.then(sendUnsent, sendUnsent);
    return running;
  };
  const subscriptions = createSubscriptions(context.source, () => {
    // The stream's own loop reports a lost peer.
    run().catch(() => {});
  });
  return { subscriptions, run };
}

function envoySecret({ name, content }: Secret): EnvoySecret {
  const inline = (text: string) =>
    create(DataSourceSchema, { specifier: { case: "inlineBytes", value: Buffer.from(text) } });
  if (content.type === "roots") {
    const value = create(CertificateValidationContextSchema, {
      trustedCa: inline(content.pem),
      ...(content.revoked === undefined ? {} : { crl: inline(content.revoked) }),
    });
    return create(SecretSchema, { name, type: { case: "validationContext", value } });
  }
  const value = create(TlsCertificateSchema, {
    certificateChain: inline(content.chain),
    privateKey: inline(content.key),
  });
  return create(SecretSchema, { name, type: { case: "tlsCertificate", value } });
}
