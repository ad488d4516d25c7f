/** A command in; the command line that runs it inside a Pod's network namespace, with its own view of some files, out. */

export interface EnterOptions {
  /** Path of the network namespace. */
  readonly namespace: string;
  /** Files and folders to show elsewhere, in a mount namespace of the process's own: from, to. */
  readonly binds: readonly (readonly [string, string])[];
  /** Runs as this user and group; as the caller where absent. */
  readonly uid?: number;
}

/**
 * The shell text is fixed; everything that varies is a positional argument, so no name can become code. `make-rprivate`
 * keeps the bind mounts from reaching the host.
 */
const script =
  'mount --make-rprivate / && while [ "$1" != "--" ]; do mount --bind "$1" "$2" || exit 125; shift 2; done && shift && exec "$@"';

export function enterCommand(
  options: EnterOptions,
  command: readonly string[],
): { readonly file: string; readonly args: readonly string[] } {
  const become =
    options.uid === undefined
      ? []
      : ["setpriv", `--reuid=${options.uid}`, `--regid=${options.uid}`, "--clear-groups", "--"];
  return {
    file: "nsenter",
    args: [
      `--net=${options.namespace}`,
      "--",
      "unshare",
      "--mount",
      "--",
      "sh",
      "-c",
      script,
      "sh",
      ...options.binds.flat(),
      "--",
      ...become,
      ...command,
    ],
  };
}

export function resolvConf(nameserver: string, namespace: string, domain: string): string {
  return `nameserver ${nameserver}\nsearch ${namespace}.svc.${domain} svc.${domain} ${domain}\noptions ndots:5\n`;
}
