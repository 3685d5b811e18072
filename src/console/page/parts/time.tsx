// Points in time, in the time zone of the user.

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})
const seconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const year = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

/** `value`: RFC 3339. Without the day if it is today. `isExact`: with milliseconds. */
export function Time({ value, isExact = false }: { readonly value: string; readonly isExact?: boolean }) {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return <span>{value}</span>
  const now = new Date()
  const time = (isExact ? clock : seconds).format(date)
  const isToday = date.toDateString() === now.toDateString()
  const before = isToday ? '' : `${(date.getFullYear() === now.getFullYear() ? day : year).format(date)}, `
  return (
    <time dateTime={value} title={value}>
      {before}
      {time}
    </time>
  )
}

/** A number of milliseconds. */
export function durationText(milliseconds: number): string {
  if (milliseconds < 1) return `${Math.round(milliseconds * 1000)} µs`
  return milliseconds < 10 ? `${milliseconds.toFixed(1)} ms` : `${Math.round(milliseconds)} ms`
}
