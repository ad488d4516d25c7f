/** MeshNetworks: which endpoints are in which network and how it is entered. */
import { array, type Infer, map, object, string, uint32 } from "./schema.ts";

const meshNetworkEndpoints = object(
  { fromCidr: string(), fromRegistry: string() },
  { proto: "istio.mesh.v1alpha1.Network.NetworkEndpoints", oneOf: [["fromCidr", "fromRegistry"]] },
);
export type MeshNetworkEndpoints = Infer<typeof meshNetworkEndpoints>;

const meshNetworkGateway = object(
  { registryServiceName: string(), address: string(), port: uint32(), locality: string() },
  { proto: "istio.mesh.v1alpha1.Network.IstioNetworkGateway", oneOf: [["registryServiceName", "address"]] },
);
export type MeshNetworkGateway = Infer<typeof meshNetworkGateway>;

const meshNetwork = object(
  { endpoints: array(meshNetworkEndpoints), gateways: array(meshNetworkGateway) },
  { proto: "istio.mesh.v1alpha1.Network" },
);
export type MeshNetwork = Infer<typeof meshNetwork>;

export const meshNetworksSpec = object({ networks: map(meshNetwork) }, { proto: "istio.mesh.v1alpha1.MeshNetworks" });
export type MeshNetworksSpec = Infer<typeof meshNetworksSpec>;
