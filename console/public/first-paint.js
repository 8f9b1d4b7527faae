// A script or style that fails to load leaves an empty page. Most likely the connection was interrupted: reload, up to
// three times. The history entry stores the count, because it survives a reload.
let isLeaving = false
addEventListener(
  'error',
  ({ target }) => {
    const isOurs =
      target instanceof HTMLScriptElement || (target instanceof HTMLLinkElement && target.rel !== 'icon')
    // Once something is on screen, keep it: the component that needs a later script reports the failure.
    const isEmpty = (document.getElementById('root')?.childElementCount ?? 0) === 0
    if (!isOurs || !isEmpty || isLeaving) return
    isLeaving = true
    const loads = history.state?.loads ?? 0
    if (loads < 3) {
      history.replaceState({ ...history.state, loads: loads + 1 }, '')
      setTimeout(() => location.reload(), 500 * 2 ** loads)
    } else if (document.readyState === 'loading') addEventListener('DOMContentLoaded', showFailure)
    else showFailure()
  },
  true,
)

function showFailure() {
  document.body.textContent = document.documentElement.lang.startsWith('ru')
    ? 'Не удалось загрузить консоль: сервер не отвечает. Обновите страницу.'
    : 'Could not load the console: the server is not responding. Reload the page.'
}
