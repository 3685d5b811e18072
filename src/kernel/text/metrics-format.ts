// The formats in which metrics are read.

/** The formats of metrics. Only OpenMetrics has exemplars. */
export type MetricsFormat = 'prometheus' | 'openmetrics'

/** The content types of the formats. */
export const metricsContentTypes: Readonly<Record<MetricsFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}
