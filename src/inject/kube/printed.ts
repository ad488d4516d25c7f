/** What Kubernetes' published schemas do not say of its types: how a field without content is printed. */

/** `Type: field field` per line. */
function table(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    text
      .trim()
      .split("\n")
      .map((line) => {
        const [type = "", fields = ""] = line.trim().split(": ");
        return [type, new Set(fields.split(" "))];
      }),
  );
}

/** Optional scalars that may be unset, so that a zero that was written is kept. */
export const pointers = table(`
  ObjectMeta: deletionGracePeriodSeconds
  OwnerReference: controller blockOwnerDeletion
  PodSpec: terminationGracePeriodSeconds activeDeadlineSeconds automountServiceAccountToken shareProcessNamespace priority runtimeClassName enableServiceLinks preemptionPolicy setHostnameAsFQDN hostUsers hostnameOverride
  HostPathVolumeSource: type
  SecretVolumeSource: defaultMode optional
  KeyToPath: mode
  ISCSIVolumeSource: initiatorName
  DownwardAPIVolumeSource: defaultMode
  DownwardAPIVolumeFile: mode
  FCVolumeSource: lun
  ConfigMapVolumeSource: defaultMode optional
  AzureDiskVolumeSource: cachingMode fsType readOnly kind
  ProjectedVolumeSource: defaultMode
  SecretProjection: optional
  ConfigMapProjection: optional
  ServiceAccountTokenProjection: expirationSeconds
  ClusterTrustBundleProjection: name signerName optional
  PodCertificateProjection: maxExpirationSeconds
  CSIVolumeSource: readOnly fsType
  PersistentVolumeClaimSpec: storageClassName volumeMode volumeAttributesClassName
  TypedObjectReference: namespace
  Container: restartPolicy
  ConfigMapEnvSource: optional
  SecretEnvSource: optional
  ConfigMapKeySelector: optional
  SecretKeySelector: optional
  FileKeySelector: optional
  VolumeMount: recursiveReadOnly mountPropagation
  Probe: terminationGracePeriodSeconds
  Lifecycle: stopSignal
  SecurityContext: privileged runAsUser runAsGroup runAsNonRoot readOnlyRootFilesystem allowPrivilegeEscalation procMount
  WindowsSecurityContextOptions: gmsaCredentialSpecName gmsaCredentialSpec runAsUserName hostProcess
  SeccompProfile: localhostProfile
  AppArmorProfile: localhostProfile
  EphemeralContainer: restartPolicy
  PodSecurityContext: runAsUser runAsGroup runAsNonRoot supplementalGroupsPolicy fsGroup fsGroupChangePolicy seLinuxChangePolicy
  Toleration: tolerationSeconds
  PodDNSConfigOption: value
  TopologySpreadConstraint: minDomains nodeAffinityPolicy nodeTaintsPolicy
  PodResourceClaim: resourceClaimName resourceClaimTemplateName
  PodSchedulingGroup: podGroupName
  ContainerStatus: started stopSignal
  VolumeMountStatus: recursiveReadOnly
  ResourceHealth: message
  PodResourceClaimStatus: resourceClaimName
  ReplicationControllerSpec: replicas
  DeploymentSpec: replicas revisionHistoryLimit progressDeadlineSeconds
  DeploymentStatus: terminatingReplicas collisionCount
  DaemonSetSpec: revisionHistoryLimit
  DaemonSetStatus: collisionCount
  ReplicaSetSpec: replicas
  ReplicaSetStatus: terminatingReplicas
  StatefulSetSpec: replicas revisionHistoryLimit
  PersistentVolumeClaimStatus: currentVolumeAttributesClassName
  RollingUpdateStatefulSetStrategy: partition
  StatefulSetStatus: collisionCount
  JobSpec: parallelism completions activeDeadlineSeconds backoffLimit backoffLimitPerIndex maxFailedIndexes manualSelector ttlSecondsAfterFinished completionMode suspend podReplacementPolicy managedBy
  PodFailurePolicyOnExitCodesRequirement: containerName
  SuccessPolicyRule: succeededIndexes succeededCount
  JobStatus: terminating failedIndexes ready
  CronJobSpec: timeZone startingDeadlineSeconds suspend successfulJobsHistoryLimit failedJobsHistoryLimit
`);

/** Objects that are always there, printed as `{}` when empty (a quantity as "0", a time as null). */
export const structs = table(`
  Pod: metadata spec status
  ResourceFieldSelector: divisor
  PersistentVolumeClaimTemplate: metadata spec
  PersistentVolumeClaimSpec: resources
  Container: resources
  HTTPGetAction: port
  TCPSocketAction: port
  EphemeralContainer: resources
  PreferredSchedulingTerm: preference
  WeightedPodAffinityTerm: podAffinityTerm
  PodCondition: lastProbeTime lastTransitionTime
  ContainerStatus: state lastState
  ContainerStateRunning: startedAt
  ContainerStateTerminated: startedAt finishedAt
  ReplicationController: metadata spec status
  PodTemplateSpec: metadata spec
  ReplicationControllerCondition: lastTransitionTime
  Deployment: metadata spec status
  DeploymentSpec: template strategy
  DeploymentCondition: lastUpdateTime lastTransitionTime
  DaemonSet: metadata spec status
  DaemonSetSpec: template updateStrategy
  DaemonSetCondition: lastTransitionTime
  ReplicaSet: metadata spec status
  ReplicaSetSpec: template
  ReplicaSetCondition: lastTransitionTime
  StatefulSet: metadata spec status
  StatefulSetSpec: template updateStrategy
  PersistentVolumeClaim: metadata spec status
  PersistentVolumeClaimCondition: lastProbeTime lastTransitionTime
  StatefulSetCondition: lastTransitionTime
  Job: metadata spec status
  JobSpec: template
  JobCondition: lastProbeTime lastTransitionTime
  CronJob: metadata spec status
  CronJobSpec: jobTemplate
  JobTemplateSpec: metadata spec
`);

/** Printed with their zero, or null for a list, when nothing was written, although the schemas do not require them. */
export const printed = table(`
  ProjectedVolumeSource: sources
  StatefulSetSpec: serviceName
  StatefulSetOrdinals: start
  StatefulSetStatus: availableReplicas
  PodFailurePolicyOnPodConditionsPattern: status
`);

/** Printed as null when nothing was written. */
export const nulls = table(`
  TypedLocalObjectReference: apiGroup
  TypedObjectReference: apiGroup
  GRPCAction: service
`);
