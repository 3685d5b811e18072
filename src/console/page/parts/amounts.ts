// Amounts as people read them.

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** A number of bytes, such as `12.4 MiB`. */
export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit += 1
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })
const fraction = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 })

/** A count or a rate: with one digit after the point below 100. */
export function amountText(value: number): string {
  return (value < 100 ? fraction : whole).format(value)
}

/** Seconds as milliseconds, such as `0.4 ms`, or as seconds. */
export function secondsText(seconds: number): string {
  const milliseconds = seconds * 1000
  if (milliseconds === 0) return '0 ms'
  if (milliseconds >= 1000) return `${seconds.toFixed(1)} s`
  return milliseconds < 10 ? `${milliseconds.toFixed(2)} ms` : `${Math.round(milliseconds)} ms`
}

const steps = [
  { unit: 'day', seconds: 86_400 },
  { unit: 'hour', seconds: 3600 },
  { unit: 'minute', seconds: 60 },
  { unit: 'second', seconds: 1 },
] as const
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** A time as the user experiences it, such as `3 minutes ago` or `in 12 days`. `time`: RFC 3339. */
export function relativeText(time: string, nowMs = Date.now()): string {
  const distanceS = (Date.parse(time) - nowMs) / 1000
  if (Number.isNaN(distanceS)) return time
  const step = steps.find(({ seconds }) => Math.abs(distanceS) >= seconds)
  return step === undefined ? 'now' : relative.format(Math.round(distanceS / step.seconds), step.unit)
}

/** The length of a time span, such as `3 h 20 min`. */
export function spanText(seconds: number): string {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor((seconds % 86_400) / 3600),
    Math.floor((seconds % 3600) / 60),
  ]
  if (days > 0) return `${days} d ${hours} h`
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min` : `${Math.floor(seconds)} s`
}
