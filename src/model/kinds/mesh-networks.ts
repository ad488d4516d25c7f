/** MeshNetworks: which endpoints are in which network and how it is entered. */
import { array, type Infer, map, object, string, uint32 } from "./schema.ts";

export const meshNetworkEndpoints = object(
  { fromCidr: string(), fromRegistry: string() },
  { oneOf: [["fromCidr", "fromRegistry"]] },
);
export type MeshNetworkEndpoints = Infer<typeof meshNetworkEndpoints>;

export const meshNetworkGateway = object(
  { registryServiceName: string(), address: string(), port: uint32(), locality: string() },
  { oneOf: [["registryServiceName", "address"]] },
);
export type MeshNetworkGateway = Infer<typeof meshNetworkGateway>;

export const meshNetwork = object({ endpoints: array(meshNetworkEndpoints), gateways: array(meshNetworkGateway) });
export type MeshNetwork = Infer<typeof meshNetwork>;

export const meshNetworksSpec = object({ networks: map(meshNetwork) });
export type MeshNetworksSpec = Infer<typeof meshNetworksSpec>;
