import { defineTexts } from '../../i18n/texts.js'

export const signInTexts = defineTexts(
  {
    title: 'Sign in',
    lead: 'Use a token of this server. It is exchanged for a session and is not stored in the browser.',
    token: 'Token',
    submit: 'Sign in',
    where: 'The administrator token was printed at the first start and is stored in',
    orMake: 'To create another token, run',
    language: 'Русский',
  },
  {
    title: 'Вход',
    lead: 'Введите токен этого сервера. Он обменивается на сеанс и не хранится в браузере.',
    token: 'Токен',
    submit: 'Войти',
    where: 'Токен администратора выведен при первом запуске и хранится в',
    orMake: 'Другой токен создаёт команда',
    language: 'English',
  },
)
