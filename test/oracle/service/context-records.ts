// Responses of context queries as text that can be compared.

/** One text for equivalent responses: without ids and times, unordered lists sorted. */
export function canonical(data: unknown): string {
  if (Array.isArray(data)) return `[${data.filter(isTold).map(canonical).sort().join(',')}]`
  if (typeof data !== 'object' || data === null) return JSON.stringify(data)
  const left = [
    'Id',
    'ElementId',
    'StartId',
    'StartElementId',
    'EndId',
    'EndElementId',
    'id',
    'create_time',
    'update_time',
  ]
  const { Labels, ...rest } = data as Record<string, unknown>
  const members = Object.entries(Labels === undefined ? rest : { ...rest, Labels })
    .filter(([name]) => !left.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}:${canonical(value)}`)
  return `{${members.join(',')}}`
}

/** Of `[{type, value}]`, without those that return ids and times. */
function isTold(item: unknown): boolean {
  if (typeof item !== 'object' || item === null || !('value' in item) || !('type' in item)) return true
  return !['id', 'create_time', 'update_time'].includes(item.type as string)
}

/** One record of a response. */
export function recordText({ nodes = {}, relationships = {}, aggregate_values = {} }: Record<string, unknown>): string {
  return canonical({ nodes, relationships, aggregate_values })
}
