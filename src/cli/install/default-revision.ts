/** An API in; what to tell where no revision stands in for the unnamed one any more, out. */
import { deactivated } from "../../install/index.ts";
import { type KubeClient, kubeKinds } from "../../kube/index.ts";

/** The unnamed revision's own configuration selects nothing once a tag has stood in for it. */
export async function tellOfNoDefault(client: KubeClient, say: (text: string) => void): Promise<void> {
  const find = (name: string): ReturnType<KubeClient["find"]> => client.find(kubeKinds.mutatingWebhooks, { name });
  const own = await find("istio-sidecar-injector");
  if (!own || JSON.stringify(own) !== JSON.stringify(deactivated(own))) return;
  if (await find("istio-revision-tag-default")) return;
  say(
    "no revision injects namespaces with istio-injection=enabled; `fairlead tag set default --revision default` does",
  );
}
