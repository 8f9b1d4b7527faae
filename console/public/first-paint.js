// A script or style that did not arrive leaves an empty page. The line was cut for a moment, most likely: load again, a
// few times. How often is kept with the entry of the history, which a reload keeps.
let isLeaving = false
addEventListener(
  'error',
  ({ target }) => {
    const isOurs =
      target instanceof HTMLScriptElement || (target instanceof HTMLLinkElement && target.rel !== 'icon')
    // What is on screen is not thrown away: whoever needs a later script reports that it is missing.
    const isEmpty = (document.getElementById('root')?.childElementCount ?? 0) === 0
    if (!isOurs || !isEmpty || isLeaving) return
    isLeaving = true
    const loads = history.state?.loads ?? 0
    if (loads < 3) {
      history.replaceState({ ...history.state, loads: loads + 1 }, '')
      setTimeout(() => location.reload(), 500 * 2 ** loads)
    } else if (document.readyState === 'loading') addEventListener('DOMContentLoaded', tell)
    else tell()
  },
  true,
)

function tell() {
  document.body.textContent = document.documentElement.lang.startsWith('ru')
    ? 'Консоль не загрузилась: сервер не ответил. Обновите страницу.'
    : 'The console could not be loaded: the server did not answer. Reload the page.'
}
