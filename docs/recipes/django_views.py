import lazyentity.auto  # in manage.py and wsgi.py, before the other imports

from django.http import Http404, JsonResponse
from django.shortcuts import render
from django.urls import path
from google.cloud import datastore

client = datastore.Client()


def one(request, number):
    order = client.get(client.key("Order", number))
    if order is None:
        raise Http404
    return JsonResponse(order)


def page(request, number):
    # order.html shows {{ order.amount }} and {{ order.currency }}: these are decoded.
    order = client.get(client.key("Order", number))
    return render(request, "order.html", {"order": order})


urlpatterns = [path("orders/<int:number>", one), path("orders/<int:number>/page", page)]
