/** A command in; the command line that runs it inside a Pod's network namespace with its own resolv.conf out. */

export interface EnterOptions {
  /** Path of the network namespace. */
  readonly namespace: string;
  /** File to show as /etc/resolv.conf, in a mount namespace of the process's own. */
  readonly resolvConf: string;
  /** Runs as this user and group; as the caller where absent. */
  readonly uid?: number;
}

/**
 * The shell text is fixed; everything that varies is a positional argument, so no name can become code. `make-rprivate`
 * keeps the bind mount from reaching the host.
 */
export function enterCommand(
  options: EnterOptions,
  command: readonly string[],
): { readonly file: string; readonly args: readonly string[] } {
  const script = 'mount --make-rprivate / && mount --bind "$1" "$(readlink -f /etc/resolv.conf)" && shift && exec "$@"';
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
      options.resolvConf,
      ...become,
      ...command,
    ],
  };
}

export function resolvConf(nameserver: string, namespace: string, domain: string): string {
  return `nameserver ${nameserver}\nsearch ${namespace}.svc.${domain} svc.${domain} ${domain}\noptions ndots:5\n`;
}
