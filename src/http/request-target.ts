// Refuses paths with dot segments or backslashes. The runtime resolves them in `url`, so a proxy that guards paths could see
// another path than the service (docs/decisions/0027-http-requests.md).

/**
 * Paths with up to this many segments are also matched by patterns, whose parameters hold the original segments. No route is
 * deeper, so a deeper target that resolves to a route is refused.
 */
const SEGMENTS_MAX = 16

/** The error for a target that is not plain. */
export const dotSegmentError = 'path: expected no dot segment and no backslash, also none that is percent-encoded'

/** A backslash, or a segment of one or two dots, in a decoded segment. */
const DOT_SEGMENT = /\\|(?:^|\/)\.{1,2}(?:\/|$)/

/** A request as Bun passes it to a route: `params` are the decoded segments of a pattern. */
type SegmentRequest = Request & { readonly params?: Readonly<Record<string, string>> }

/** Patterns for all paths of up to `SEGMENTS_MAX` non-empty segments, with or without a trailing slash. */
export function segmentPatterns(): string[] {
  const patterns = ['/']
  let pattern = ''
  for (let depth = 1; depth <= SEGMENTS_MAX; depth++) {
    pattern += `/:s${depth}`
    patterns.push(pattern, `${pattern}/`)
  }
  return patterns
}

/**
 * Returns whether the path has no dot segment and no backslash. A path that matched no pattern has an empty segment or is
 * deeper than any route; if its URL has neither, then the URL differs from what was sent.
 */
export function hasPlainTarget(request: SegmentRequest): boolean {
  if (request.params !== undefined) return !Object.values(request.params).some((segment) => DOT_SEGMENT.test(segment))
  const { url } = request
  const [path = ''] = url.slice(pathStart(url) + 1).split('?', 1)
  const segments = path.replace(/\/$/, '').split('/')
  return segments.includes('') || segments.length > SEGMENTS_MAX
}

/** Index of the path in an absolute URL. */
export function pathStart(url: string): number {
  return url.indexOf('/', url.indexOf('://') + 3)
}

/** Escapes of unreserved characters (RFC 3986, section 2.3): letters, digits, `-`, `.`, `_` and `~`. */
const UNRESERVED_ESCAPE = /%(2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi

/** The error for a path that matches no route and has an escape of an unreserved character. */
export const unreservedEscapeError =
  'path: expected letters, digits, `-`, `.`, `_` and `~` of a fixed part as they are, found a percent-encoded one'

/**
 * Percent-decodes a path. An encoded slash is kept, because it does not separate segments (RFC 3986, section 2.2), and a proxy
 * sees it that way too. An encoded percent sign is kept, so that it cannot be taken for the first character of a kept escape.
 * An encoded unreserved character is kept, so that no fixed part of a route has two spellings: a proxy that guards `/configs` would
 * let `/%63onfigs` pass. `parameterOf` decodes it in a parameter.
 * A path that cannot be decoded is returned unchanged and matches no route without parameters.
 */
export function decodePath(path: string): string {
  try {
    return decodeURIComponent(path.replace(/%(2f|25)/gi, '%25$1').replace(UNRESERVED_ESCAPE, '%25$1'))
  } catch {
    return path
  }
}

/** Whether a path that `decodePath` returned has an escape of an unreserved character. */
export function hasUnreservedEscape(path: string): boolean {
  return path.search(UNRESERVED_ESCAPE) >= 0
}

/** Returns the value of a path parameter: the segment of a path that `decodePath` returned, with unreserved characters decoded. */
export function parameterOf(segment: string): string {
  return segment.includes('%') ? segment.replace(UNRESERVED_ESCAPE, (encoded) => decodeURIComponent(encoded)) : segment
}

/** Returns the text of a segment of a path that `decodePath` returned; null if the path could not be decoded. */
export function segmentText(segment: string): string | null {
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}
