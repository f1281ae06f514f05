import lazyentity.auto  # in manage.py and wsgi.py, before the other imports

from django.http import Http404, JsonResponse
from django.shortcuts import render
from django.urls import path
from google.cloud import datastore

client = datastore.Client()


def one(request, number):
    product = client.get(client.key("Product", number))
    if product is None:
        raise Http404
    return JsonResponse(product)


def page(request, number):
    # product.html shows {{ product.amount }} and {{ product.currency }}: these are decoded.
    product = client.get(client.key("Product", number))
    return render(request, "product.html", {"product": product})


urlpatterns = [path("products/<int:number>", one), path("products/<int:number>/page", page)]
