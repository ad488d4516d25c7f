/** An address and a name in; what an HTTP server behind TLS answers, and which certificate it shows, out. */
import tls from "node:tls";

interface TlsAnswer {
  readonly body: string;
  /** Names in the server's certificate; empty where there was no handshake. */
  readonly names: string;
}

export function speakTls(options: {
  host: string;
  port: number;
  sni: string;
  alpn?: readonly string[];
}): Promise<TlsAnswer> {
  return new Promise((resolve) => {
    const { host, port, sni, alpn } = options;
    let [text, names] = ["", ""];
    const socket = tls.connect(
      { host, port, servername: sni, rejectUnauthorized: false, ...(alpn ? { ALPNProtocols: [...alpn] } : {}) },
      () => {
        names = socket.getPeerCertificate().subjectaltname ?? "";
        socket.write(`GET / HTTP/1.1\r\nHost: ${sni}\r\nConnection: close\r\n\r\n`);
      },
    );
    const done = (): void => {
      socket.destroy();
      resolve({ body: /\r\n\r\n(?:[0-9a-f]+\r\n)?([^\r]*)/.exec(text)?.[1] ?? "", names });
    };
    socket.setTimeout(3000, done);
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("error", done).on("close", done);
  });
}
