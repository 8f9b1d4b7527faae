{{- define "vitrina.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Call with (dict "root" $ "component" "api"). */}}
{{- define "vitrina.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .pool }}
vitrina/pool: {{ . }}
{{- end }}
{{- end -}}

{{- define "vitrina.labels" -}}
{{ include "vitrina.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "vitrina.image" -}}
{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end -}}

{{/* What the Pod Security Standard "restricted" asks for. No pod talks to the Kubernetes API. */}}
{{- define "vitrina.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {}
{{- with .Values.pythonTasksConfigMap }}
  - name: python-tasks
    configMap: {name: {{ . }}}
{{- end }}
{{- end -}}

{{- define "vitrina.container" -}}
image: {{ include "vitrina.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
{{- if .Values.pythonTasksConfigMap }}
  - {name: python-tasks, mountPath: /app/pipelines/python, readOnly: true}
{{- end }}
{{- end -}}

{{/* Settings of processes that run pipelines or check them. */}}
{{- define "vitrina.envFrom" -}}
envFrom:
  - configMapRef: {name: {{ include "vitrina.fullname" . }}}
{{- with .Values.secrets.connections }}
  - secretRef: {name: {{ . }}}
{{- end }}
{{- end -}}

{{/* Call with (dict "root" $ "name" "DATABASE_URL" "key" "admin-url"). */}}
{{- define "vitrina.databaseEnv" -}}
- name: {{ .name }}
  valueFrom: {secretKeyRef: {name: {{ .root.Values.secrets.database }}, key: {{ .key }}}}
{{- end -}}

{{/* {main: 20} as main:20. */}}
{{- define "vitrina.limits" -}}
{{- $entries := list -}}
{{- range $name, $runs := . -}}
{{- $entries = append $entries (printf "%s:%d" $name (int $runs)) -}}
{{- end -}}
{{- join "," $entries -}}
{{- end -}}
