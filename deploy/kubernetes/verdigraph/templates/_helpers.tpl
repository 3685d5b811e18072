{{- define "verdigraph.selector" -}}
app.kubernetes.io/name: verdigraph
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "verdigraph.labels" -}}
{{ include "verdigraph.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "verdigraph.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}
